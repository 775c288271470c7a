import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  CLI,
  EXPORTS,
  importsIn,
  type Manifest,
  publishedManifest,
  STARTER,
} from '../../server/downloads/manifest.ts'

/**
 * Builds the published package: the command line, the client, the plugin API and its conformance
 * suite, as JavaScript, with only the dependencies that these need, and an SBOM of the hub.
 * `npm pack` runs it before packing, and with `undo` afterwards, because npm can publish only this
 * package.json. With `sbom` it writes only the SBOM.
 */
const ROOT = new URL('../..', import.meta.url).pathname
const OUT = join(ROOT, 'dist')
const OWN = join(ROOT, 'package.json')
const ASIDE = join(ROOT, 'package.json.aside')
function pack(): void {
  rmSync(OUT, { recursive: true, force: true })
  compile()
  listComponents()
  const own = JSON.parse(readFileSync(OWN, 'utf8')) as Manifest
  const published = publishedManifest(own, importsOf(OUT), true)
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
    files: [CLI, ...Object.values(EXPORTS)].map((file) => `../${file}.ts`),
  }
  mkdirSync(OUT, { recursive: true })
  const path = join(OUT, 'tsconfig.json')
  writeFileSync(path, JSON.stringify(config))
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', path], { stdio: 'inherit' })
  rmSync(path)
  copyFileSync(join(ROOT, STARTER), join(OUT, STARTER))
  chmodSync(join(OUT, STARTER), 0o755)
}

/**
 * Writes dist/sbom.cdx.json (CycloneDX): every package of the lock file that a hub installs, with
 * its version, hash and license. The same lock file and npm give the same bytes.
 */
function listComponents(): void {
  // With --omit=dev npm also omits packages that a tool shares with the hub.
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only']
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 } as const
  const bom = JSON.parse(execFileSync('npm', args, options)) as Bom
  const { name } = JSON.parse(readFileSync(OWN, 'utf8')) as { name: string }
  const components = bom.components.filter(
    ({ properties }) => !properties.some((each) => each.name === 'cdx:npm:package:development'),
  )
  const refs = new Set(components.map((each) => each['bom-ref']))
  const root = bom.metadata.component
  const component = { ...root, name, type: 'application' } // npm takes the name of the folder
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref) || ref === root['bom-ref'])
    .map((each) => ({ ...each, dependsOn: each.dependsOn.filter((ref) => refs.has(ref)) }))
  const metadata = { ...bom.metadata, timestamp: undefined, component }
  const text = JSON.stringify(
    { ...bom, serialNumber: undefined, metadata, components, dependencies },
    null,
    2,
  )
  mkdirSync(OUT, { recursive: true })
  writeFileSync(join(OUT, 'sbom.cdx.json'), `${text}\n`)
}

interface Component {
  readonly 'bom-ref': string
  readonly properties: readonly { readonly name: string }[]
}

interface Bom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

/** Returns what compiled files import. */
const importsOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(js|d\.ts)$/.test(name))
    .flatMap((name) => importsIn(readFileSync(join(folder, name), 'utf8')))

if (process.argv[2] === 'undo') renameSync(ASIDE, OWN)
else if (process.argv[2] === 'sbom') listComponents()
else pack()
