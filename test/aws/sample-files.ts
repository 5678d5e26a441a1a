import { s3Files } from '#shared/platform/aws/s3-files.ts'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'

export interface SampleEvent {
  bucket: string
  key: string
  /** The number of chunks of 1 MB to write; absent to write no file. */
  megabytes?: number
}

/** A function that only stores files, to see that it works bundled. */
export async function handler({ bucket, key, megabytes }: SampleEvent) {
  const files = s3Files(bucket, startBudget(systemClock, 20_000))
  if (megabytes !== undefined) await files.write(key, chunks(megabytes), 'text/csv')
  return files.link(key, { fileName: 'sample.csv', mediaType: 'text/csv', seconds: 60 })
}

async function* chunks(count: number) {
  for (let index = 0; index < count; index += 1) yield Buffer.alloc(1024 * 1024, `row ${index},`)
}
