"""FastMCP's server of skills, with the skills of the directory that is given: real manifests of real files."""

import sys

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

provider = SkillsDirectoryProvider(sys.argv[1], experimental_skills=True)
server = FastMCP("skills", providers=[provider])
server.add_extension(SkillsExtension(providers=[provider]))
server.run(show_banner=False)
