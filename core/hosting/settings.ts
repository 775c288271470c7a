import { resolve } from 'node:path'
import { isPath, type PluginEntry } from './entry.ts'

/** Limits and runtime of isolated plugins. */
export interface HostingSettings {
  /** Heap limit (MiB); a process may use half as much again outside the heap. */
  readonly memoryMb: number
  /** Path of a Node whose permission model covers sockets (26 or newer), for untrusted plugins. */
  readonly node: string
  /** Delays before restarts, by the number of exits in the last minute. */
  readonly backOffMs: readonly number[]
}

const BACK_OFF_MS = [0, 0, 1_000, 5_000, 15_000] as const

/** Plugins added by the operator, and how they run. */
export interface HostingConfig extends HostingSettings {
  readonly entries: readonly PluginEntry[]
}

export const hostingSettings = (e: {
  readonly HUB_PLUGINS: readonly PluginEntry[]
  readonly HUB_PLUGIN_NODE?: string | undefined
  readonly HUB_PLUGIN_MEMORY: number
}): HostingConfig => ({
  entries: e.HUB_PLUGINS.map((entry) => ({ ...entry, spec: resolveSpec(entry.spec) })),
  memoryMb: e.HUB_PLUGIN_MEMORY,
  node: e.HUB_PLUGIN_NODE ?? process.execPath,
  backOffMs: BACK_OFF_MS,
})

/** Makes a path absolute; leaves package names unchanged. */
export const resolveSpec = (spec: string): string => (isPath(spec) ? resolve(spec) : spec)
