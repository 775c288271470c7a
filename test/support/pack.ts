import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/**
 * Builds the published package: the command line, the client, the plugin API and its conformance
 * suite, as JavaScript, with only the dependencies that these need, and an SBOM of the hub.
 * `npm pack` runs it before packing, and with `undo` afterwards, because npm can publish only this
 * package.json.
 */
const ROOT = new URL('../..', import.meta.url).pathname
const OUT = join(ROOT, 'dist')
const OWN = join(ROOT, 'package.json')
const ASIDE = join(ROOT, 'package.json.aside')
const ENTRIES = {
  './client': 'core/client/index',
  './plugin': 'core/plugin/index',
  './testing': 'core/testing/index',
} as const
const CLI = 'server/cli/main'
/** Entry point of the command line; already JavaScript. */
const STARTER = 'server/cli/hub.mjs'

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

function pack(): void {
  rmSync(OUT, { recursive: true, force: true })
  compile()
  listComponents()
  const { dependencies, ...own } = JSON.parse(readFileSync(OWN, 'utf8')) as Manifest
  const needed = new Set(importsOf(OUT))
  const published = {
    ...pick(own, ['name', 'version', 'description', 'license', 'type']),
    engines: { node: '>=22.19' },
    files: ['dist'],
    bin: { agenthub: `dist/${STARTER}`, hub: `dist/${STARTER}` },
    exports: {
      ...Object.fromEntries(
        Object.entries(ENTRIES).map(([name, file]) => [
          name,
          { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
        ]),
      ),
      './package.json': './package.json',
    },
    dependencies: Object.fromEntries(
      Object.entries(dependencies).filter(([name]) => needed.has(name)),
    ),
  }
  renameSync(OWN, ASIDE)
  writeFileSync(OWN, `${JSON.stringify(published, null, 2)}\n`)
}

function compile(): void {
  const config = {
    extends: '../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: '..',
      outDir: '.',
      types: ['node'],
    },
    include: [],
    files: [CLI, ...Object.values(ENTRIES)].map((file) => `../${file}.ts`),
  }
  execFileSync('mkdir', ['-p', OUT])
  const path = join(OUT, 'tsconfig.json')
  writeFileSync(path, JSON.stringify(config))
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', path], { stdio: 'inherit' })
  rmSync(path)
  copyFileSync(join(ROOT, STARTER), join(OUT, STARTER))
  chmodSync(join(OUT, STARTER), 0o755)
}

/**
 * Writes dist/sbom.cdx.json (CycloneDX): every package of the lock file that a hub installs, with
 * its version and license. The same lock file gives the same bytes.
 */
function listComponents(): void {
  execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, stdio: 'inherit' })
}

/** Returns the names of packages that compiled files import. */
const importsOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(js|d\.ts)$/.test(name))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(
        /(?:from|import)\s*\(?\s*['"]((?:@[\w.-]+\/)?[\w-][\w.-]*)/g,
      ),
    ])
    .map(([, name = '']) => name)

const pick = (from: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))

if (process.argv[2] === 'undo') renameSync(ASIDE, OWN)
else pack()
