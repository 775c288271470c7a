#!/usr/bin/env node
// Starts the command line from its sources: on this Node if it reads TypeScript, else on the one
// that the package brings along. What is published is compiled, and does without.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

const main = new URL('./main.ts', import.meta.url)
if (process.features.typescript) {
  process.argv[1] = main.pathname
  await import(main.href)
} else {
  const node = createRequire(import.meta.url).resolve('node/bin/node')
  const { status, signal } = spawnSync(node, [main.pathname, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  process.exitCode = signal ? 130 : (status ?? 1)
}
