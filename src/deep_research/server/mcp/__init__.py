"""Deep Research for other agents, over the Model Context Protocol: research, its reports, and what they rest on."""
