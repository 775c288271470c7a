import { workerData } from 'node:worker_threads'

/** Fails in the way that its data names. */
const failures: Readonly<Record<string, () => unknown>> = {
  loop: () => {
    for (;;);
  },
  throw: () => (undefined as unknown as { readonly missing: string }).missing,
  exit: () => process.exit(0),
  heap: () => {
    for (const held: string[][] = []; ; ) held.push(Array.from({ length: 1_000 }, () => 'x'))
  },
  recurse: function recurse(): unknown {
    return [recurse()]
  },
}
failures[workerData as string]!()
