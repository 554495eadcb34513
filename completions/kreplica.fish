# Completion of kreplica in fish. Install it by
#   kreplica completions fish > ~/.config/fish/completions/kreplica.fish
function __kreplica_complete
    set -l complete (commandline --tokenize --cut-at-cursor --current-process)
    set -l current (commandline --cut-at-cursor --current-token)
    _KREPLICA_COMPLETE=(count $complete) $complete[1] $complete[2..-1] "$current" 2>/dev/null |
        while read --local --delimiter \t kind value help
            if test $kind = file
                __fish_complete_path "$current"
            else
                printf '%s\t%s\n' $value $help
            end
        end
end
complete --command kreplica --no-files --keep-order --arguments '(__kreplica_complete)'
