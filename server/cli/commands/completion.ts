import type { Command } from 'commander'
import { Failure } from '../failure.ts'

/** A command with its completion candidates. */
interface Word {
  /** Command path without the program name, such as `keys create`. */
  readonly path: string
  readonly candidates: readonly string[]
}

type Write = (name: string, words: readonly Word[]) => string

/** Cases by command, the deepest first because `keys create` also matches `keys`. */
const cases = (words: readonly Word[], quote: (follow: readonly string[]) => string): string =>
  words
    .toReversed()
    .map(({ path, candidates: follow }) => {
      const pattern = path === '' ? '*' : `"${path}"|"${path} "*`
      return `    ${pattern}) follow=${quote(follow)} ;;`
    })
    .join('\n')

const SHELLS: Readonly<Record<string, Write>> = {
  bash: (name, words) => `# bash completion of ${name}: eval "$(${name} completion bash)"
_${name}() {
  local word line= follow
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || line="\${line:+$line }$word"
  done
  case "$line" in
${cases(words, (follow) => `"${follow.join(' ')}"`)}
  esac
  COMPREPLY=($(compgen -W "$follow" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${name}
`,
  zsh: (name, words) => `#compdef ${name}
# zsh completion of ${name}: eval "$(${name} completion zsh)"
_${name}() {
  local -a before follow
  before=(\${\${words[2,CURRENT-1]}:#-*})
  case "$before" in
${cases(words, (follow) => `(${follow.join(' ')})`)}
  esac
  compadd -- $follow || _files
}
compdef _${name} ${name}
`,
  fish: (name, words) =>
    [
      `# fish completion of ${name}: ${name} completion fish | source`,
      ...words.flatMap(({ path, candidates: follow }) => {
        const names = path.split(' ')
        const seen = names.map((each) => `__fish_seen_subcommand_from ${each}`).join('; and ')
        const given = path === '' ? '__fish_use_subcommand' : seen
        return follow.map((word) =>
          word.startsWith('--')
            ? `complete -c ${name} -n '${given}' -l ${word.slice(2)}`
            : `complete -c ${name} -f -n '${given}' -a ${word}`,
        )
      }),
      '',
    ].join('\n'),
}

/** Generates a completion script. @param values arguments by command path @throws Failure */
export function completion(
  program: Command,
  shell: string,
  values: Readonly<Record<string, readonly string[]>>,
): string {
  const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (write) return write(program.name(), collectWords(program, [], values))
  throw new Failure('usage', `Not a shell: ${shell}`, `One of ${Object.keys(SHELLS).join(', ')}`)
}

function collectWords(
  command: Command,
  path: readonly string[],
  values: Readonly<Record<string, readonly string[]>>,
): Word[] {
  const own = path.join(' ')
  const flags = command.options.flatMap(({ long }) => (long ? [long] : []))
  const names = command.commands.map((each) => each.name())
  const follow = [...names, ...(values[own] ?? []), ...flags, '--help']
  const below = command.commands.flatMap((each) =>
    collectWords(each, [...path, each.name()], values),
  )
  return [{ path: own, candidates: follow }, ...below]
}
