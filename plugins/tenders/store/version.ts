import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

const FOLDERS = ['data', 'domain', 'parse', 'store'] as const

/** Hash of the code and data that read and publish notices. A new one retries what failed. */
export const CODE_VERSION = hashOf(FOLDERS)

function hashOf(folders: readonly string[]): string {
  const hash = createHash('sha256')
  for (const folder of folders) {
    const url = new URL(`../${folder}/`, import.meta.url)
    for (const file of readdirSync(url).sort()) hash.update(readFileSync(new URL(file, url)))
  }
  return hash.digest('hex').slice(0, 12)
}
