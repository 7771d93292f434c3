"""Sizes, times and long texts as messages show them."""

from __future__ import annotations


def readable(size: int) -> str:
    """Bytes in words: "1.5 GB"."""
    amount = float(min(size, 10**300))
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < (1000 if unit == "bytes" else 999.95):
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.0f} PB" if amount < 1e9 else f"{amount:.0e} PB"


def clock(seconds: float) -> str:
    """A time as ``1:05`` or ``2:03:04``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shortened(text: str, length: int = 200) -> str:
    """A text with its middle left out where it is long."""
    half = length // 2 - 2
    return text if len(text) <= length else f"{text[:half]} ... {text[-half:]}"


def cause(error: Exception) -> str:
    """Why something failed, without the path, which the message around it names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
