import { forkEarly } from '../../server/boot/fork-workers.ts'

/** Program: loads `workers-program.ts` in the first process and the workers at once, as main.ts. */
forkEarly(process.env)
await import('./workers-program.ts')
