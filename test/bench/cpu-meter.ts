import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { cpuSeconds } from './upstream/sides.ts'

/** Returns a function that reads the CPU seconds of a local PostgreSQL. */
export async function serverMeter(owner: Pool): Promise<() => number> {
  const { rows } = await owner.query<{ folder: string }>(
    "SELECT current_setting('data_directory') AS folder",
  )
  const file = readFileSync(join(rows[0]!.folder, 'postmaster.pid'), 'utf8')
  const postmaster = Number(file.split('\n')[0])
  return () => cpuSeconds(postmaster)
}

/** Returns a function that reads the CPU seconds of this process and of a local PostgreSQL. */
export async function cpuMeter(owner: Pool): Promise<() => number> {
  const readServer = await serverMeter(owner)
  return () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6 + readServer()
  }
}
