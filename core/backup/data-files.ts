import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pack } from 'tar-stream'

/**
 * Files and folders of a data directory that a backup contains: its keys, the checkpoints that the
 * hub signed, and the chain of a sandbox. The database is backed up by its own protocol.
 */
const CONTENTS = [
  'checkpoints',
  'signing-key',
  'postgres.password',
  'sandbox-wallets.json',
  'sandbox-agent.key',
  'chain/chain.json',
] as const
const PART = '.part'

/** Packs the files of a data directory into a tar archive. */
export async function packDataFiles(dataDir: string): Promise<Readable> {
  const archive = pack()
  for (const name of CONTENTS) {
    for (const file of await filesBelow(join(dataDir, name))) {
      const content = await readFile(file)
      const path = relative(dataDir, file).split(sep).join('/')
      archive.entry({ name: path, mode: 0o600 }, content)
    }
  }
  archive.finalize()
  return Readable.from(archive as AsyncIterable<Buffer>)
}

async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOTDIR') return undefined
      if (error.code === 'ENOENT') return []
      throw error
    },
  )
  if (entries === undefined) return [path]
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith(PART))
    .map((entry) => join(entry.parentPath, entry.name))
}

/** Writes one file of a data directory. */
export async function writeDataFile(path: string, content: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content, { mode: 0o600 })
  await chmod(path, 0o600)
}
