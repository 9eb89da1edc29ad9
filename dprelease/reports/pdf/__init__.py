"""The report as a PDF, which the extra ``dprelease[pdf]`` makes."""
