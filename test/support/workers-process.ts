import { forkEarly } from '../../server/boot/fork-workers.ts'

/** Program: loads the hub of `workers-program.ts` and its workers at once, like `server/main.ts`. */
forkEarly(process.env)
await import('./workers-program.ts')
