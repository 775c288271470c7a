import wordy from './wordy.ts'

/** Plugin whose summary exceeds the maximum message size. */
export default (host: Parameters<typeof wordy>[0]) => ({
  ...wordy(host),
  summary: 'x'.repeat(9 * 1_048_576),
})
