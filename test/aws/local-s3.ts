import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { startEngine } from '#bin/local/engine.ts'
import { installEngine, isEngineInstalled } from '#bin/local/engine-install.ts'
import { REGION, ROOT } from '#bin/local/environment.ts'
import { checkPrerequisites } from '#bin/local/prerequisites.ts'
import { freePort } from '../support/free-port.ts'

export interface LocalS3 {
  endpoint: string
  /** The name of an existing, empty bucket. */
  bucket: string
  /** A client that bypasses the code under test. */
  client: S3Client
  stop(): Promise<void>
}

/** Starts the S3 of the local AWS engine, with a bucket. */
export async function startLocalS3(): Promise<LocalS3> {
  if (!isEngineInstalled()) {
    await installEngine((await checkPrerequisites()).python, new AbortController().signal)
  }
  const port = await freePort()
  const directory = join(ROOT, '.build/local', String(port))
  const engine = await startEngine({ port, directory })
  const client = new S3Client({
    endpoint: engine.endpoint,
    region: REGION,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
  const bucket = 'files-of-the-tests'
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  return {
    endpoint: engine.endpoint,
    bucket,
    client,
    async stop() {
      client.destroy()
      await engine.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
