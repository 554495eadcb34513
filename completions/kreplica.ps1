# Completion of kreplica in PowerShell. Install it by
#   kreplica completions powershell >> $PROFILE
Register-ArgumentCompleter -Native -CommandName kreplica -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = $commandAst.CommandElements[0].Extent.Text
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($_.Value -is [string]) { $_.Value } else { $_.Extent.Text } })
    $env:_KREPLICA_COMPLETE = $words.Count + 1
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
        Remove-Item Env:_KREPLICA_COMPLETE
    }
}
