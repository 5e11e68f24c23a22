"""benchmarks/SEARCH.md from the records of benchmarks/search.py; computes nothing but shares and medians."""


def page(records, problems):
    return ""
