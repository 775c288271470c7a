import { flushCompileCache } from 'node:module'
import { sleep, systemClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { createLog } from '../../core/log.ts'
import { defineService, s, usd } from '../../core/plugin/index.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { startHub } from '../../server/boot/start.ts'
import { registerFirstAgent } from '../../server/sandbox/agent.ts'

/**
 * Program: hub that tests kill. Its `slow` service takes 50 ms, and its holds expire after five
 * seconds. Prints one line of JSON when it is ready.
 */
const slow = defineService({
  slug: 'slow',
  name: 'Slow',
  category: 'test',
  summary: 'Takes its time.',
  provider: 'example',
  endpoints: {
    'POST /work': {
      summary: 'Answers after 50 ms.',
      price: usd('0.001'),
      deadlineSeconds: 1,
      input: s.object({ n: s.integer() }),
      handle: async ({ input }) => {
        await sleep(50)
        return { n: input.n }
      },
    },
  },
})

const config = readConfig()
const running = await startHub({
  config,
  loadParts: async () => ({ plugins: [...plugins, slow], privileged, startJobs }),
  log: createLog('error'),
  holdMarginSeconds: 4,
})
const apiKey = await registerFirstAgent(config.dataDir, running.url, running.sandbox!.wallets.agent)
flushCompileCache() // a killed process stores nothing
const { url, databaseUrl } = running
const readyAt = systemClock.now().toISOString()
process.stdout.write(`${JSON.stringify({ url, databaseUrl, apiKey, readyAt })}\n`)
process.once('SIGTERM', () => void running.stop())
