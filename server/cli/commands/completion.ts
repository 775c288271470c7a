import type { Command } from 'commander'
import { Failure } from '../failure.ts'

/** A command with the words that may follow it. */
interface Word {
  /** Names from the program on, without the program: `keys create`. */
  readonly path: string
  readonly follow: readonly string[]
}

const SHELLS: Readonly<Record<string, (name: string, words: readonly Word[]) => string>> = {
  bash: (name, words) => `# bash completion of ${name}: eval "$(${name} completion bash)"
_${name}() {
  local words="\${COMP_WORDS[*]:1:COMP_CWORD-1}" options
  case "$words" in
${words
  .toReversed()
  .map(
    ({ path, follow }) =>
      `    ${path === '' ? '*' : `"${path}"*`}) options="${follow.join(' ')}" ;;`,
  )
  .join('\n')}
  esac
  COMPREPLY=($(compgen -W "$options" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`,
  zsh: (name, words) => `#compdef ${name}
# zsh completion of ${name}: eval "$(${name} completion zsh)"
_${name}() {
  local line="\${words[2,CURRENT-1]}" options
  case "$line" in
${words
  .toReversed()
  .map(
    ({ path, follow }) =>
      `    ${path === '' ? '*' : `"${path}"*`}) options=(${follow.join(' ')}) ;;`,
  )
  .join('\n')}
  esac
  compadd -- $options
}
compdef _${name} ${name}
`,
  fish: (name, words) =>
    [
      `# fish completion of ${name}: ${name} completion fish | source`,
      ...words.flatMap(({ path, follow }) => {
        const given =
          path === ''
            ? '__fish_use_subcommand'
            : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`
        return follow.map((word) =>
          word.startsWith('--')
            ? `complete -c ${name} -n '${given}' -l ${word.slice(2)}`
            : `complete -c ${name} -f -n '${given}' -a ${word}`,
        )
      }),
      '',
    ].join('\n'),
}

/** A script that completes commands and flags. @throws Failure for another shell */
export function completion(program: Command, shell: string): string {
  const write = SHELLS[shell]
  if (write) return write(program.name(), wordsOf(program, []))
  throw new Failure('usage', `Not a shell: ${shell}`, `One of ${Object.keys(SHELLS).join(', ')}`)
}

function wordsOf(command: Command, path: readonly string[]): Word[] {
  const flags = command.options.flatMap(({ long }) => (long ? [long] : []))
  const follow = [...command.commands.map((each) => each.name()), ...flags, '--help']
  const below = command.commands.flatMap((each) => wordsOf(each, [...path, each.name()]))
  return [{ path: path.join(' '), follow }, ...below]
}
