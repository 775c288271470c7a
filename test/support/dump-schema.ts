import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dumpSchema } from '../../core/db/dump.ts'
import { freshDatabase, stopSharedCluster } from './postgres.ts'

/** Writes core/db/schema.sql anew from the migrations: `npm run db:dump`. */
const database = await freshDatabase()
const file = join(import.meta.dirname, '../../core/db/schema.sql')
await writeFile(file, await dumpSchema(database.admin))
await database.drop()
await stopSharedCluster()
