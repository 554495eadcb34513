# Completion of kreplica in bash 4 and newer. Install it by one of
#   kreplica completions bash > ~/.local/share/bash-completion/completions/kreplica
#   echo 'source <(kreplica completions bash)' >> ~/.bashrc
_kreplica() {
    local kind value help program=${1/#\~/$HOME}
    COMPREPLY=()
    while IFS=$'\t' read -r kind value help; do
        if [[ $kind == file ]]; then
            compopt -o default
        else
            COMPREPLY+=("$value")
        fi
    done < <(_KREPLICA_COMPLETE=$COMP_CWORD "$program" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _kreplica kreplica
