import { localAwsEnvironment } from '#bin/local/environment.ts'
import { freePort } from '../support/free-port.ts'
import { type LocalS3, startLocalS3 } from './local-s3.ts'
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts'

export interface S3BehindProxy {
  s3: LocalS3
  proxy: S3Proxy
  stop(): Promise<void>
}

/** A local S3 behind a proxy. The clients of this process connect to the proxy. */
export async function startS3BehindProxy(): Promise<S3BehindProxy> {
  const port = await freePort()
  const s3 = await startLocalS3(port)
  const proxy = await startS3Proxy(s3.aws.endpoint, port)
  delete process.env.AWS_PROFILE
  Object.assign(process.env, localAwsEnvironment({ ...s3.aws, endpoint: proxy.endpoint }))
  return {
    s3,
    proxy,
    async stop() {
      await proxy.stop()
      await s3.stop()
    },
  }
}
