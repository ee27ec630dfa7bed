"""Reading what people write on a command line."""

from __future__ import annotations

from labenv_schemas.errors import ConfigError


def split_list(text: str, what: str = "list") -> list[str]:
    """Split words separated by commas.

    Args:
        text: Such as ``"Ti, Zn,O"``.
        what: What is listed, for the message.

    Returns:
        The words, without spaces around them.

    Raises:
        ConfigError: If there is no word.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise ConfigError(f"the {what} {text!r} is empty; write words separated by commas")
    return words
