"""How servers are checked: walks, probes, verdicts, evidence, the grade."""
