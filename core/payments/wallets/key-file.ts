import { open } from 'node:fs/promises'
import { ConfigError } from '../../runtime/config-error.ts'
import type { Hex } from '../chain/asset.ts'

const OTHERS = 0o077
const KEY_BYTES_MAX = 256

/**
 * Reads a private key from a file that only the user of this process can read.
 * @param name variable that names the file
 * @throws ConfigError without key material
 */
export async function readKeyFile(name: string, path: string): Promise<Hex> {
  const file = await open(path, 'r').catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigError(`${name}: ${path} cannot be read (${cause.code}).`, { cause })
  })
  try {
    const { mode, uid, size } = await file.stat() // of what was opened, not of the path
    const user = process.getuid?.()
    if (user !== undefined && uid !== user) {
      throw new ConfigError(`${name}: ${path} belongs to user ${uid}. Give it to user ${user}.`)
    }
    if (user !== undefined && (mode & OTHERS) !== 0) {
      const rights = (mode & 0o777).toString(8).padStart(4, '0')
      throw new ConfigError(`${name}: others may use ${path} (${rights}). Run: chmod 0400 ${path}`)
    }
    const text = size > KEY_BYTES_MAX ? '' : (await file.readFile('utf8')).trim()
    if (/^0x[\da-fA-F]{64}$/.test(text)) return text as Hex
    throw new ConfigError(`${name}: ${path} does not contain a private key: 0x and 64 hex digits.`)
  } finally {
    await file.close()
  }
}
