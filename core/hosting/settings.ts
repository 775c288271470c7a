import { resolve } from 'node:path'
import { type Entry, isPath } from './entry.ts'

/** What plugins that run apart may have, and what runs them. */
export interface HostingSettings {
  /** MiB of heap; a process may have half as much again besides. */
  readonly memoryMb: number
  /** A Node whose permission model covers sockets (26 or newer) for what is not trusted. */
  readonly node: string
  /** Milliseconds before one that ended is started again: the first, second … time in a minute. */
  readonly backOffMs: readonly number[]
}

const BACK_OFF_MS = [0, 0, 1_000, 5_000, 15_000] as const

/** Plugins that the operator added, and how they run. */
export interface Hosting extends HostingSettings {
  readonly entries: readonly Entry[]
}

export const hostingSettings = (e: {
  readonly HUB_PLUGINS: readonly Entry[]
  readonly HUB_PLUGIN_NODE?: string | undefined
  readonly HUB_PLUGIN_MEMORY: number
}): Hosting => ({
  entries: e.HUB_PLUGINS.map((entry) => ({ ...entry, spec: placeOf(entry.spec) })),
  memoryMb: e.HUB_PLUGIN_MEMORY,
  node: e.HUB_PLUGIN_NODE ?? process.execPath,
  backOffMs: BACK_OFF_MS,
})

/** A path means the same wherever it is read. */
export const placeOf = (spec: string): string => (isPath(spec) ? resolve(spec) : spec)
