"""kreplica completions: the script that makes a shell complete kreplica's words."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from commands.shared.help import examples

VARIABLE = "_KREPLICA_COMPLETE"
"""Environment variable by which a shell asks for candidates: the number of the word under the cursor."""


class Shell(StrEnum):
    """Shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    powershell = "powershell"


FILE_NAMES = {
    Shell.bash: "kreplica.bash",
    Shell.zsh: "_kreplica",
    Shell.fish: "kreplica.fish",
    Shell.powershell: "kreplica.ps1",
}
"""File names of the scripts in completions/; zsh finds one by its name."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        "completions",
        short_help="Print a shell completion script.",
        epilog=examples(
            "kreplica completions bash > ~/.local/share/bash-completion/completions/kreplica",
            "kreplica completions zsh > ~/.zfunc/_kreplica",
        ),
    )(completions)


def completions(shell: Annotated[Shell, typer.Argument(help="Shell to print the script for.")]) -> None:
    """Print the completion script of a shell; its first lines say how to install it."""
    sys.stdout.write(script(shell))


def script(shell: Shell) -> str:
    """The script, as kept under completions/.

    It holds no words of its own: it asks the program, so it stays right when the program is upgraded.
    """
    return _SCRIPTS[shell].replace("@VARIABLE@", VARIABLE)


_BASH = """\
# Completion of kreplica in bash 4 and newer. Install it by one of
#   kreplica completions bash > ~/.local/share/bash-completion/completions/kreplica
#   echo 'source <(kreplica completions bash)' >> ~/.bashrc
_kreplica() {
    local kind value help program=${1/#\\~/$HOME}
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value help; do
        if [[ $kind == file ]]; then
            compopt -o default
        else
            COMPREPLY+=("$value")
        fi
    done < <(@VARIABLE@=$COMP_CWORD "$program" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kreplica kreplica
"""

_ZSH = """\
#compdef kreplica
# Completion of kreplica in zsh. Install it by one of
#   kreplica completions zsh > FOLDER/_kreplica     where FOLDER stands in your $fpath
#   echo 'source <(kreplica completions zsh)' >> ~/.zshrc     after compinit
_kreplica() {
    local -a offered
    local kind value help files='' program=${~words[1]}
    while IFS=$'\\t' read -r kind value help; do
        if [[ $kind == file ]]; then
            files=yes
        else
            offered+=("${value//:/\\\\:}:$help")
        fi
    done < <(@VARIABLE@=$((CURRENT - 1)) $program "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    (( $#offered )) && _describe -V kreplica offered
    [[ -n $files ]] && _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _kreplica "$@"
else
    compdef _kreplica kreplica
fi
"""

_FISH = """\
# Completion of kreplica in fish. Install it by
#   kreplica completions fish > ~/.config/fish/completions/kreplica.fish
function __kreplica_complete
    set -l complete (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    @VARIABLE@=(count $complete) $complete[1] $complete[2..-1] "$current" 2>/dev/null |
        while read --local --delimiter \\t kind value help
            if test $kind = file
                __fish_complete_path "$current"
            else
                printf '%s\\t%s\\n' $value $help
            end
        end
end
complete --command kreplica --no-files --keep-order --arguments '(__kreplica_complete)'
"""

_POWERSHELL = """\
# Completion of kreplica in PowerShell. Install it by
#   kreplica completions powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName kreplica -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = $commandAst.CommandElements[0].Extent.Text
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.Value -is [string]) { $_.Value } else { $_.Extent.Text } })
    $env:@VARIABLE@ = $words.Count + 1
    try {
        foreach ($line in & $program @words $wordToComplete 2>$null) {
            $kind, $value, $help = $line -split "`t", 3
            if ($kind -eq 'file') {
                [System.Management.Automation.CompletionCompleters]::CompleteFilename($wordToComplete)
            } else {
                $tip = if ($help) { $help } else { $value }
                [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $tip)
            }
        }
    } finally {
        Remove-Item Env:@VARIABLE@
    }
}
"""

_SCRIPTS = {Shell.bash: _BASH, Shell.zsh: _ZSH, Shell.fish: _FISH, Shell.powershell: _POWERSHELL}
