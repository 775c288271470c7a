import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { startEmbedded } from '../../../core/db/embedded.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { databaseUrl } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { newFolder } from '../folder.ts'
import { insertTestData, type Person } from './test-data.ts'

/** Copy of the test data for one run. */
export interface BenchDatabase {
  readonly url: string
  readonly admin: Pool
  readonly person: Person
  /** Drops the copy and stops the server. */
  close(): Promise<void>
}

const FILLED = 'bench_filled'
const RUN = 'bench_run'

/**
 * Starts a server with a copy of the test data, which the first run in a folder inserts.
 * @param folder that stays; without one, the data is deleted afterwards
 */
export async function openBenchDatabase(folder?: string): Promise<BenchDatabase> {
  const dataDir = folder ?? newFolder()
  const server = await startEmbedded({ dataDir })
  const root = createPool(server.url, {
    max: 1,
    statementMs: 0,
    lockMs: 0,
    applicationName: 'bench root',
  })
  const stop = async () => {
    await root.end()
    await server.stop()
    if (folder === undefined) await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const person = await findOrFill(root, server.url, join(dataDir, 'web.json'))
    await root.query(`DROP DATABASE IF EXISTS ${RUN}`)
    await root.query(`CREATE DATABASE ${RUN} TEMPLATE ${FILLED} STRATEGY file_copy`)
    const url = databaseUrl(server.url, RUN)
    await migrate(url)
    const admin = createPool(url, { statementMs: 0, lockMs: 0, applicationName: 'bench' })
    await admin.query(RENEW_SESSIONS)
    return {
      url,
      admin,
      person,
      close: async () => {
        await admin.end()
        await root.query(`DROP DATABASE ${RUN} WITH (FORCE)`)
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The sessions of a stored database are as old as it. */
const RENEW_SESSIONS = `UPDATE hub.session SET created_at = now(), used_at = now(),
  expires_at = now() + (expires_at - created_at)`

/** Inserts the test data unless a run before has done so: the file exists once it is complete. */
async function findOrFill(root: Pool, url: string, file: string): Promise<Person> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text !== undefined) return JSON.parse(text) as Person
  await root.query(`DROP DATABASE IF EXISTS ${FILLED}`)
  await root.query(`CREATE DATABASE ${FILLED}`)
  const filled = databaseUrl(url, FILLED)
  await migrate(filled)
  const admin = createPool(filled, { statementMs: 0, lockMs: 0, applicationName: 'bench' })
  try {
    const person = await insertTestData(admin)
    await writeFile(file, JSON.stringify(person), { mode: 0o600 })
    return person
  } finally {
    await admin.end()
  }
}
