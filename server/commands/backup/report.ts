import type { RestoreReport } from '../../../core/backup/verify-restored.ts'

const MIB = 1_048_576

/** Formats a size as `12.3 MiB`. */
export const formatBytes = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`

/** Describes a restored hub to its operator: the ledger, and what remains to be done. */
export function describeReport(report: RestoreReport): string {
  const { ok, verification, entries, newestEntry, incompleteShards, reconciliation } = report
  const { reconciled, exceptions } = reconciliation
  const bad = verification.checks.filter((check) => check.bad > 0n)
  const newest = newestEntry === null ? '' : `, the newest of ${newestEntry.toISOString()}`
  const lines = [
    ...bad.map(({ name, bad: count, example }) => `BAD  ${name}: ${count}, first ${example}`),
    ...incompleteShards.map((shard) => `BAD  shard ${shard} lacks entries of the backup`),
    ...(verification.notes ?? []).map((note) => `note ${note}`),
    `Ledger: ${ok ? 'sound' : 'NOT sound'}, ${entries} entries${newest}.`,
    ...reconciled.map(
      ({ wallet, ageSeconds }) => `Reconciled with the chain: ${wallet}, ${ageSeconds} s ago.`,
    ),
    `Open exceptions: ${exceptions.open}.`,
    report.outgoingPaused
      ? 'Outgoing payments: off, until the ledger has been reconciled with the chain.'
      : 'Outgoing payments: ON. Run `npm run payments -- pause` before anything else.',
    ok
      ? 'Next: start the database and the hub; if the hub signed newer entries, run ' +
        '`npm run ledger -- accept-restore`.'
      : 'Do not start a hub on it.',
  ]
  return `${lines.join('\n')}\n`
}
