import { fileURLToPath } from 'node:url'
import { BUILT } from './bounded-patterns.ts'

/**
 * Program: imports the files that build patterns when they are loaded and prints the patterns, as a
 * JSON list of file and `/source/flags`.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const built: (readonly [file: string, pattern: string])[] = []
const { RegExp: original } = globalThis
globalThis.RegExp = new Proxy(original, {
  construct(target, [source, flags]: [string | RegExp, string?]) {
    const made = new target(source, flags)
    const caller = new Error('here').stack?.split('\n')[2] ?? ''
    const file = caller.split(root)[1]?.split(':')[0] ?? ''
    if (file in BUILT) built.push([file, String(made)])
    return made
  },
})
for (const file of Object.keys(BUILT)) await import(new URL(`../../${file}`, import.meta.url).href)
process.stdout.write(JSON.stringify(built))
