import { readdirSync, readFileSync } from 'node:fs'

/** Top-level definition of a module, with the comment before it. */
interface Definition {
  readonly module: string
  readonly name: string
  readonly source: string
}

const START = /^(?:export )?(?:default )?(?:async )?(?:const|function|class|interface|type) (\w+)/
const IMPORT = /^import (?:type )?\{([^}]*)\} from '\.\/([\w-]+)\.ts'/gm

/** Returns the definitions of a module; those of one name, such as overloads, are several. */
function definitionsIn(module: string, source: string): Definition[] {
  const blocks: { name: string; lines: string[] }[] = []
  let comment: string[] = []
  for (const line of source.split('\n')) {
    const name = START.exec(line)?.[1]
    if (name !== undefined) blocks.push({ name, lines: [...comment.splice(0), line] })
    else if (/^(?:\/\*\*| \*|\/\/)/.test(line)) comment.push(line)
    else blocks.at(-1)?.lines.push(...comment.splice(0), line)
  }
  return blocks.map(({ name, lines }) => ({ module, name, source: lines.join('\n').trim() }))
}

/** Returns the modules and names by the names under which a module imports them. */
function importsOf(source: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [, names = '', module] of source.matchAll(IMPORT)) {
    for (const each of names.split(',')) {
      const [name = '', alias = name] = each.replace(/^\s*type /, '').split(' as ')
      found.set(alias.trim(), `${module} ${name.trim()}`)
    }
  }
  return found
}

const keyOf = ({ module, name }: Pick<Definition, 'module' | 'name'>): string => `${module} ${name}`

/** Definitions of a program, each with those that it uses. */
export class Definitions {
  readonly #uses: readonly (readonly [Definition, ReadonlySet<string>])[]

  /** @param sources by the names of modules */
  constructor(sources: Readonly<Record<string, string>>) {
    this.#uses = Object.entries(sources).flatMap(([module, source]) => {
      const definitions = definitionsIn(module, source)
      const known = new Map(definitions.map(({ name }) => [name, keyOf({ module, name })]))
      for (const [name, key] of importsOf(source)) known.set(name, key)
      return definitions.map((each) => {
        const words = each.source.match(/\w+/g) ?? []
        const used = words.flatMap((word) => known.get(word) ?? [])
        return [each, new Set(used.filter((key) => key !== keyOf(each)))] as const
      })
    })
  }

  static ofFolder(folder: URL): Definitions {
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    return new Definitions(
      Object.fromEntries(
        files.map((file) => [file.slice(0, -3), readFileSync(new URL(file, folder), 'utf8')]),
      ),
    )
  }

  /** Returns the lines that nothing needs without a definition, those of its own included. */
  linesOnlyFor(wanted: Pick<Definition, 'module' | 'name'>): number {
    const isUsed = (key: string, removedKeys: ReadonlySet<string>): boolean =>
      this.#uses.some(([user, uses]) => uses.has(key) && !removedKeys.has(keyOf(user)))
    const removedKeys = new Set([keyOf(wanted)])
    for (let size = 0; size !== removedKeys.size; ) {
      size = removedKeys.size
      const used = this.#uses.flatMap(([user, uses]) =>
        removedKeys.has(keyOf(user)) ? [...uses] : [],
      )
      for (const key of used) if (!isUsed(key, removedKeys)) removedKeys.add(key)
    }
    return this.#uses
      .filter(([each]) => removedKeys.has(keyOf(each)))
      .reduce((sum, [{ source }]) => sum + source.split('\n').length, 0)
  }
}
