package onnxplain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// DefaultMessageLimit is what a server takes and sends by default, in bytes.
	DefaultMessageLimit = 64 << 20

	// DefaultRetries last 6 to 13 seconds, in which the only server can be
	// restarted.
	DefaultRetries = 10
)

// An Option of [Connect].
type Option func(*settings) error

// settings are what Connect was given.
type settings struct {
	endpoint         string
	token            TokenSource
	unencryptedToken bool
	tls              *tls.Config // nil sends everything as it is
	roots            *x509.CertPool
	certificate      func() (*tls.Certificate, error)
	retries          int
	messageLimit     int
	dial             []grpc.DialOption
}

// set makes an option of what cannot fail.
func set(change func(*settings)) Option {
	return func(s *settings) error {
		change(s)
		return nil
	}
}

// WithToken shows this bearer token with each call. It is not sent unencrypted,
// except to this machine.
func WithToken(token string) Option {
	return func(s *settings) error {
		if !tokenForm.MatchString(token) {
			return errNoToken
		}
		s.token = func(context.Context) (string, error) { return token, nil }
		return nil
	}
}

// A TokenSource returns the bearer token of the moment. It is asked before each
// call, by several goroutines at a time.
type TokenSource func(context.Context) (string, error)

// WithTokenSource shows the token that source returns, for tokens that end.
func WithTokenSource(source TokenSource) Option {
	return set(func(s *settings) { s.token = source })
}

// WithUnencryptedToken lets a token go to other machines unencrypted, as in a
// mesh that encrypts on the way.
func WithUnencryptedToken() Option {
	return set(func(s *settings) { s.unencryptedToken = true })
}

// WithTLS encrypts, and trusts the authorities of the system.
func WithTLS() Option {
	return WithTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12})
}

// WithTLSConfig encrypts as the configuration says, which may not be nil.
func WithTLSConfig(config *tls.Config) Option {
	return func(s *settings) error {
		if config == nil {
			return errors.New("the configuration of TLS is nil")
		}
		s.tls = config.Clone()
		return nil
	}
}

// WithCAFile encrypts, and trusts only the authorities of this file, in PEM.
func WithCAFile(path string) Option {
	return func(s *settings) (err error) {
		s.roots, err = authorities(path)
		return err
	}
}

// WithClientCertificate encrypts, and shows this certificate, in PEM. The files
// are read again for each connection: a certificate can be renewed on the way.
func WithClientCertificate(certificateFile, keyFile string) Option {
	return func(s *settings) error {
		s.certificate = func() (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificateFile, keyFile)
			return &pair, err
		}
		_, err := s.certificate()
		return err
	}
}

// WithRetries says how often a call is made again where nobody answers, or where
// the server says that it has too much to do: with growing pauses, within the
// context's time. Default: [DefaultRetries]; 0 makes each call once.
func WithRetries(count int) Option {
	return func(s *settings) error {
		s.retries = count
		return atLeast(0, count, "retries")
	}
}

// WithMessageLimit says how many bytes a request or an answer may have. Models
// and tables beyond it are uploaded in parts. Default: [DefaultMessageLimit].
func WithMessageLimit(bytes int) Option {
	return func(s *settings) error {
		s.messageLimit = bytes
		return atLeast(1, bytes, "bytes of a message")
	}
}

// WithDialOptions passes options to grpc, after those of this package: an
// interceptor that traces calls, for example.
func WithDialOptions(options ...grpc.DialOption) Option {
	return set(func(s *settings) { s.dial = append(s.dial, options...) })
}

func atLeast(least, given int, of string) error {
	if given < least {
		return fmt.Errorf("%d %s; there must be at least %d", given, of, least)
	}
	return nil
}

func (s *settings) dialOptions() []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithUserAgent("onnxplain-go/" + Version),
		grpc.WithTransportCredentials(s.transport()),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallSendMsgSize(s.messageLimit), grpc.MaxCallRecvMsgSize(s.messageLimit),
		),
		// Attempts follow within two seconds: who met nobody must look again.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 20 * time.Second,
		}),
		// A peer that vanished without a word shows after a minute.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: time.Minute, Timeout: 20 * time.Second,
		}),
	}
	if s.token != nil {
		options = append(options, grpc.WithPerRPCCredentials(bearer{s.token}))
	}
	return append(options, s.dial...)
}

func (s *settings) transport() credentials.TransportCredentials {
	if s.tls == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(s.tls)
}
