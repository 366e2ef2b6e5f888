"""The forms of secrets: one table for the audit log and for the redaction of answers.

Patterns are written for both `re` and RE2, so they look neither ahead nor behind. The group that matches is
the secret; without groups, the whole match is.
"""

from __future__ import annotations

from typing import NamedTuple

_NAMES = r"pass(?:word|wd|phrase|code)|secret|token|credentials?|(?:api|access|private)[_-]?key"
# The name of a variable, a flag or a field whose value is a secret.
NAMED = rf"(?i:[\w-]{{0,40}}(?:{_NAMES})[\w-]{{0,40}})"
_VALUE = r"(?:\"([^\"\n]*)\"|'([^'\n]*)'|"

# Values of names such as `token` that are no secrets.
PLAIN_VALUES = frozenset(b"true false null none nil undefined [redacted] [secret]".split())


class SecretShape(NamedTuple):
    """One form. `begun` matches the beginning of such a secret at the end of a text that was cut."""

    pattern: str
    begun: str = ""


SHAPES = (
    SecretShape(r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{12,}", r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]+"),
    SecretShape(r"\bgh[pousr]_[A-Za-z0-9]{16,}", r"\bgh[pousr]_[A-Za-z0-9]+"),
    SecretShape(r"\bgithub_pat_\w{20,}", r"\bgithub_pat_\w+"),
    SecretShape(r"\bglpat-[\w-]{16,}", r"\bglpat-[\w-]+"),
    SecretShape(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}", r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{4,}"),
    SecretShape(r"\bxox[abeprs]-[\w-]{10,}", r"\bxox[abeprs]-[\w-]+"),
    SecretShape(r"\bnpm_[A-Za-z0-9]{20,}", r"\bnpm_[A-Za-z0-9]{8,}"),
    SecretShape(r"\bpypi-[\w-]{20,}", r"\bpypi-[\w-]{8,}"),
    SecretShape(r"\bAIza[\w-]{30,}", r"\bAIza[\w-]+"),
    SecretShape(r"\bhf_[A-Za-z0-9]{20,}", r"\bhf_[A-Za-z0-9]{8,}"),
    SecretShape(r"\bdop_v1_[0-9a-f]{20,}", r"\bdop_v1_[0-9a-f]+"),
    SecretShape(r"\bSG\.[\w-]{16,}\.[\w-]{16,}", r"\bSG\.[\w-]{16,}\.?[\w-]*"),
    SecretShape(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*", r"\beyJ[\w-]{8,}\.?[\w-]*"),
    SecretShape(r"(?i)\bbearer[ \t]+([\w.~+/=-]{8,})"),
    SecretShape(r"(?i)\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?([\w.~+/=-]{8,})"),
    SecretShape(r"\w{1,20}://[^\s:/@]*:([^\s@/]+)@"),
    SecretShape(rf"{NAMED}[\"']?[ \t]*[=:][ \t]*{_VALUE}([^\s;&|,}}\"']+))"),
    SecretShape(rf"--?{NAMED}[ \t]+{_VALUE}([^\s;&|-][^\s;&|]*))"),
    SecretShape(r"\bsshpass[ \t]+-p[ \t]*(\S+)"),
    SecretShape(r"\bcurl\b[^;|&\n]*?[ \t]-u[ \t]*[^\s:]+:(\S+)"),
    SecretShape(r"\b(?:mysql|mariadb|mysqldump)\b[^;|&\n]*?[ \t]-p([^\s-]\S*)"),
)
