import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { COMPILED_CODE } from '../../support/compiled-code.ts'

const PROGRAM = join(import.meta.dirname, 'imports-process.ts')
const HUB = new URL('../../../server/boot/start.ts', import.meta.url).href
const MAX_BUFFER = 67_108_864
const run = promisify(execFile)

interface Imports {
  readonly outcomes: readonly unknown[]
  readonly resolved: readonly string[]
}

async function importAll(how: 'faster' | 'plain', entries: readonly string[]): Promise<Imports> {
  const args = [PROGRAM, how, ...entries]
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED_CODE }
  const { stdout } = await run(process.execPath, args, { env, maxBuffer: MAX_BUFFER })
  return JSON.parse(stdout)
}

/** Imports as Node.js does by itself, and faster. */
const importBoth = (entries: readonly string[]) =>
  Promise.all([importAll('plain', entries), importAll('faster', entries)])

const MODULE = 'export default import.meta.url'
/** Files of a package of modules, and of packages in it. */
const FILES: Readonly<Record<string, string>> = {
  'package.json': '{"type":"module"}',
  'a.js': "export { default } from './sub/b.ts'",
  'sub/b.ts': `${MODULE} as string`,
  'untyped/package.json': '{}',
  'untyped/a.js': "import value from './b.js'\nexport default value",
  'untyped/b.js': 'module.exports = "script"',
  'script.cjs': 'module.exports = require("./untyped/b.js")',
  'data.js': "export { default } from './data.json' with { type: 'json' }",
  'data.json': '["data"]',
  'node_modules/one/package.json': '{"type":"module","exports":"./main.js"}',
  'node_modules/one/main.js': "export { default } from './typed.ts'",
  'node_modules/one/typed.ts': MODULE,
  'sub/node_modules/one/package.json': '{"main":"main.mjs"}',
  'sub/node_modules/one/main.mjs': MODULE,
  'bare.js': "export { default } from 'one'",
  'sub/bare.js': "export { default } from 'one'",
  'missing.js': "export { default } from './none.js'",
  'folder.js': "export { default } from './sub'",
  'query.js': "export { default } from './a.js?version=2'",
  'escaped.js': "export { default } from './%61.js'",
  'linked.js': "export { default } from './link.js'",
  'linked-folder.js': "export { default } from './link/b.ts'",
  'builtin.js': "import { sep } from 'path'\nimport 'node:fs'\nexport default sep",
  'no-builtin.js': "export { default } from 'node:nothing'",
}

describe('resolving modules faster', () => {
  it('finds what Node.js finds for every import of the hub', async () => {
    const [plain, faster] = await importBoth([HUB])
    expect(plain.resolved).to.have.length.above(1_000)
    expect(faster.resolved).to.deep.equal(plain.resolved)
  })

  it('leaves links, packages, queries, data and errors to Node.js', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    try {
      for (const [name, text] of Object.entries(FILES)) {
        await mkdir(dirname(join(folder, name)), { recursive: true })
        await writeFile(join(folder, name), text)
      }
      await symlink('sub/b.ts', join(folder, 'link.js'))
      await symlink('sub', join(folder, 'link'))
      const names = Object.keys(FILES).filter((name) =>
        /^[^/]+\.c?js$|^(?:sub|untyped)\/b?a?/.test(name),
      )
      const entries = names.map((name) => pathToFileURL(join(folder, name)).href)
      const [plain, faster] = await importBoth(entries)
      expect(new Set(plain.outcomes)).to.have.property('size').above(6)
      expect(faster).to.deep.equal(plain)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
