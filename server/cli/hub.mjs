#!/usr/bin/env node
// Starts the command line: compiled, as published, or from its sources, on this Node if it reads
// TypeScript, else on the one that the clone has installed.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

// Caches compiled code in a folder of the user, which halves the time of `--help`. Others could write
// to the shared folder that is Node's default.
const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE || join(caches, 'agenthub'))

const compiled = new URL('./main.js', import.meta.url)
const main = existsSync(compiled) ? compiled : new URL('./main.ts', import.meta.url)
if (main === compiled || process.features.typescript) {
  await import(main.href)
} else {
  const node = module.createRequire(import.meta.url).resolve('node/bin/node')
  const { status, signal } = spawnSync(node, [import.meta.filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exitCode = signal ? 130 : (status ?? 1)
}
