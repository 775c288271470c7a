import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const MIGRATIONS = 'core/db/migrations'

const git = (...args: readonly string[]): readonly string[] =>
  spawnSync('git', args, { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)

/** Returns the newest tag, or the commit before the newest migration; undefined without history. */
export function previousVersion(): string | undefined {
  const [tag] = git('tag', '--list', 'v*', '--sort=-version:refname')
  const [newest] = git('log', '--diff-filter=A', '--format=%H', '--', MIGRATIONS)
  const candidate = tag ?? (newest && `${newest}^`)
  return candidate && git('rev-parse', '--verify', '--quiet', `${candidate}^{commit}`)[0]
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'agenthub-version-'))

/** Checks out a version, with its own dependencies if they differ. @returns its folder */
export function checkOut(version: string): string {
  const folder = newFolder()
  const archive = execFileSync('git', ['archive', version], { maxBuffer: 1 << 30 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  const lockOf = (place: string) => readFileSync(join(place, 'package-lock.json'), 'utf8')
  if (lockOf(folder) === lockOf('.')) linkDependencies(folder)
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' })
  return folder
}

/** Copies this version and adds a migration that expands the database. @returns its folder */
export function nextVersion(): string {
  const folder = newFolder()
  const copy = 'git ls-files -z -c -o --exclude-standard | xargs -0 cp --parents -t "$0"'
  execFileSync('sh', ['-c', copy, folder])
  linkDependencies(folder)
  const number = readdirSync(join(folder, MIGRATIONS)).length + 1
  const file = `${String(number).padStart(4, '0')}_next.sql`
  writeFileSync(
    join(folder, MIGRATIONS, file),
    `-- A table and a column of the next version.
-- upgrade: expand
CREATE TABLE hub.next (id bigint PRIMARY KEY);
ALTER TABLE hub.call ADD next boolean;
`,
  )
  return folder
}

const linkDependencies = (folder: string): void =>
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
