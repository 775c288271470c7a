import type { Environment } from './environment.ts'

/** Databases of the hub, and how the ledger is laid out in them. */
export interface DatabaseConfig {
  readonly databaseUrl: string | undefined
  /** Direct connection for sessions; `databaseUrl` is then treated as a transaction pooler. */
  readonly databaseDirectUrl: string | undefined
  /** Login of the owner, which migrates; undefined: that of the other URLs, if it is one. */
  readonly databaseOwnerUrl: string | undefined
  /** Engine that distributes the ledger; undefined: one PostgreSQL server. */
  readonly cluster: 'citus' | undefined
  /** Number of ledger shards of a new installation; existing installations keep theirs. */
  readonly shards: number
}

export const databaseOf = (e: Environment): DatabaseConfig => ({
  databaseUrl: e.DATABASE_URL,
  databaseDirectUrl: e.DATABASE_DIRECT_URL,
  databaseOwnerUrl: e.DATABASE_OWNER_URL,
  cluster: e.HUB_CLUSTER,
  shards: e.HUB_SHARDS,
})
