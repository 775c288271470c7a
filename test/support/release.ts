import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * Makes the files of a release in an empty folder: the npm package, the package with the command
 * line that each hub serves at /downloads, the SBOM, the notes from the changelog, `SHA256SUMS`,
 * and with a key (PEM, Ed25519) its signature. The same commit gives the same bytes. `npm run
 * release -- FOLDER [KEY]`; verify with `openssl pkeyutl -verify -rawin -pubin -inkey release.pub
 * -in SHA256SUMS -sigfile SHA256SUMS.sig`.
 */
const ROOT = new URL('../..', import.meta.url).pathname

/** Returns the section of a version; of unreleased changes if the version has none. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## \[)/m).slice(1)
  const named = (name: string) => sections.find((text) => text.startsWith(`## [${name}]`))
  const section = named(version) ?? named('Unreleased')
  if (section === undefined) throw new Error(`The changelog has no section for ${version}.`)
  return `# AgentHub ${version}${section.slice(section.indexOf('\n'))}`
}

function release(folder: string, keyFile: string | undefined): void {
  mkdirSync(folder, { recursive: true })
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty.`)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const changelog = readFileSync(join(ROOT, '.github/CHANGELOG.md'), 'utf8')
  writeFileSync(join(folder, 'NOTES.md'), notesOf(changelog, version))
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT })
  copyFileSync(join(ROOT, 'dist/sbom.cdx.json'), join(folder, 'sbom.cdx.json'))
  const served = ['--no-warnings', join(ROOT, 'server/downloads/main.ts')]
  const bundle = execFileSync(process.execPath, served, { maxBuffer: 1 << 28 })
  writeFileSync(join(folder, `agenthub-cli-${version}.tgz`), bundle)
  const hash = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  const sums = readdirSync(folder).map((name) => `${hash(name)}  ${name}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  if (keyFile === undefined) return
  const key = createPrivateKey(readFileSync(keyFile))
  const signature = sign(null, Buffer.from(sums.join('')), key)
  writeFileSync(join(folder, 'SHA256SUMS.sig'), signature)
}

if (import.meta.main) {
  const [folder, key] = process.argv.slice(2)
  if (folder === undefined) throw new Error('usage: npm run release -- FOLDER [KEY]')
  release(resolve(folder), key)
}
