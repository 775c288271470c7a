import { readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** Functions of the plugin that a test can make fail, as `domain/derive.ts:derive`. */
const FOLDERS = ['domain', 'parse', 'store'] as const
const PLUGIN = new URL('../../../plugins/tenders/', import.meta.url)
const MARK = '?planted'

interface Planting {
  /** Function that fails; undefined: none. */
  failing: string | undefined
  /** Text in an argument that makes it fail. */
  poison: string
  /** Number of failures since the last change. */
  failures: number
}

export const planting: Planting = { failing: undefined, poison: '', failures: 0 }

declare global {
  var wrapPlanted: (name: string, work: unknown) => unknown
}

globalThis.wrapPlanted = (name, work) =>
  typeof work !== 'function' || /^class\b/.test(Function.prototype.toString.call(work))
    ? work
    : function planted(this: unknown, ...args: unknown[]): unknown {
        if (planting.failing === name && mentions(args, planting.poison)) {
          planting.failures += 1
          throw new Error(`planted in ${name}`)
        }
        return work.apply(this, args)
      }

/** True if a text is in the plain data of a value: not in class instances. */
function mentions(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text)
  if (value instanceof Uint8Array) return Buffer.from(value).includes(text)
  if (value instanceof Map) return mentions([...value], text)
  if (value instanceof Error) return value.message.includes(text)
  if (Array.isArray(value)) return value.some((each) => mentions(each, text))
  if (typeof value !== 'object' || value === null) return false
  const isPlain = Object.getPrototypeOf(value) === Object.prototype
  return isPlain && Object.values(value).some((each) => mentions(each, text))
}

const EXPORTED = /^export (?:async )?(?:function\*? |const )(\w+)/gm

/** All functions that can fail. */
export const plantable = (): string[] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, PLUGIN)).flatMap((file) => {
      const source = readFileSync(new URL(`${folder}/${file}`, PLUGIN), 'utf8')
      return [...source.matchAll(EXPORTED)].map(([, name]) => `${folder}/${file}:${name}`)
    }),
  )

/** Loads modules of the plugin whose exported functions fail on request. */
export function importPlanted<T>(path: string): Promise<T> {
  hook ??= registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const isInside = resolved.url.startsWith(PLUGIN.href) && resolved.url.endsWith('.ts')
      const isPlanted = context.parentURL?.includes(MARK) || specifier.includes(MARK)
      return isInside && isPlanted ? { ...resolved, url: `${resolved.url}${MARK}` } : resolved
    },
    load(url, context, next) {
      const loaded = next(url, context)
      const inside = url.slice(PLUGIN.href.length).replace(MARK, '')
      if (!url.endsWith(MARK) || !FOLDERS.some((each) => inside.startsWith(each))) return loaded
      const text = Buffer.from((loaded.source ?? '') as Buffer).toString()
      const names = [...text.matchAll(EXPORTED)].map(([, name]) => name)
      const source = text.replaceAll(/^export const (\w+)/gm, 'export let $1')
      const wraps = names.map((name) => `${name} = wrapPlanted('${inside}:${name}', ${name})`)
      return { ...loaded, source: `${source}\n${wraps.join('\n')}\n` }
    },
  })
  return import(new URL(`${path}${MARK}`, PLUGIN).href) as Promise<T>
}

let hook: ReturnType<typeof registerHooks> | undefined
