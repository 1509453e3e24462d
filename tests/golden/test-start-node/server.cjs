const greetings = require("greetings");

greetings.serve();
