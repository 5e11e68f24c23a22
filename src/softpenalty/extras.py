"""How to install what is optional."""


def install_hint(extra: str) -> str:
    """The commands that install an extra, from an index or in a checkout.

    Examples
    --------
    >>> install_hint("study")
    "`pip install 'softpenalty[study]'` (in a checkout `pip install '.[study]'`)"
    """
    return f"`pip install 'softpenalty[{extra}]'` (in a checkout `pip install '.[{extra}]'`)"
