import wordy from './wordy.ts'

/** Cannot be declared: its summary is longer than a message may be. */
export default (host: Parameters<typeof wordy>[0]) => ({
  ...wordy(host),
  summary: 'x'.repeat(9 * 1_048_576),
})
