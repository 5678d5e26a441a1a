import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'

export interface SampleEvent {
  bucket: string
  key: string
  /** How many chunks of a megabyte the file has; it is not written where this is absent. */
  megabytes?: number
}

/** A function of files and nothing else, to see how large that is and that it works bundled. */
export async function handler({ bucket, key, megabytes }: SampleEvent) {
  const files = s3Files(bucket, startBudget(systemClock, 20_000))
  if (megabytes !== undefined) await files.write(key, chunks(megabytes), 'text/csv')
  return files.link(key, { fileName: 'sample.csv', mediaType: 'text/csv', seconds: 60 })
}

async function* chunks(count: number) {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(1024 * 1024, `row ${index},`)
}
