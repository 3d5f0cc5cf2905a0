"""A scripted model: a provider on this machine that plays scenarios through each agent's own tools."""
