import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import {
  CLI,
  EXPORTS,
  importsIn,
  jsPath,
  type Manifest,
  publishedManifest,
  STARTER,
  withJsImports,
} from './manifest.ts'

/**
 * Writes the package with the command line and the client (.tgz) to stdout, without type
 * declarations. A program of its own, because Node warns that stripping types is experimental.
 * The same sources give the same bytes.
 */
const ROOT = dirname(dirname(import.meta.dirname))
/** Time of all files, as in packages of npm. */
const MTIME = new Date('1985-10-26T08:15:00Z')

/** Adds a module and what it imports, as JavaScript by path. */
function addModule(path: string, modules: Map<string, string>): void {
  if (modules.has(path)) return
  const source = readFileSync(join(ROOT, path), 'utf8')
  const text = path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
  modules.set(path, text)
  for (const specifier of importsIn(text)) {
    const target = join(dirname(path), specifier)
    if (target.endsWith('.ts') && existsSync(join(ROOT, target))) addModule(target, modules)
  }
}

const modules = new Map<string, string>()
for (const path of [CLI, ...Object.values(EXPORTS)]) addModule(`${path}.ts`, modules)
modules.set(STARTER, readFileSync(join(ROOT, STARTER), 'utf8'))
const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const imports = [...modules.values()].flatMap(importsIn)
const archive = pack()
const add = (name: string, text: string, mode = 0o644) =>
  archive.entry({ name: `package/${name}`, mtime: MTIME, mode }, text)
add('package.json', `${JSON.stringify(publishedManifest(own, imports, false), null, 2)}\n`)
for (const [path, text] of [...modules].sort(([one], [other]) => (one < other ? -1 : 1))) {
  const mode = path === STARTER ? 0o755 : 0o644
  add(`dist/${jsPath(path)}`, withJsImports(text), mode)
}
archive.finalize()
await pipeline(archive, createGzip(), process.stdout)
