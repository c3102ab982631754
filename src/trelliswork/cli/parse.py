"""``trelliswork parse``: `tag` under the name that parsers go by."""

from __future__ import annotations

import copy

from trelliswork.cli.tag import command as tag_command

__all__ = ["command"]

command = copy.copy(tag_command)
command.name = "parse"
command.epilog = "Example: trelliswork parse english.tw new.conllu > parsed.conllu"
