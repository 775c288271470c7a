/** The instant that the samples were written for: they are answered as of it, whatever the time. */
export const SAMPLE_NOW = new Date('2026-06-10T08:00:00Z')
