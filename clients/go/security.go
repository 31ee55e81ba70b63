package onnxplain

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
)

// RFC 6750, section 2.1.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// The token itself is no part of the message: logs would have it.
var errNoToken = errors.New("the token is empty, or has characters that no bearer token has")

// settingsOf puts together what Connect was given.
func settingsOf(endpoint string, options []Option) (settings, error) {
	given := settings{
		endpoint: endpoint, retries: DefaultRetries, messageLimit: DefaultMessageLimit,
	}
	for _, option := range options {
		if err := option(&given); err != nil {
			return given, err
		}
	}
	given.encrypt()
	return given, given.identify()
}

// encrypt puts together the configuration of TLS, where there is anything of it.
func (s *settings) encrypt() {
	if s.tls == nil && (s.roots != nil || s.certificate != nil) {
		s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if s.roots != nil {
		s.tls.RootCAs = s.roots
	}
	if read := s.certificate; read != nil {
		s.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return read()
		}
	}
}

func authorities(path string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", path)
	}
	return pool, nil
}

// identify looks at where a token would go.
func (s *settings) identify() error {
	if s.token == nil || s.tls != nil || s.unencryptedToken || isLoopback(s.endpoint) {
		return nil
	}
	return fmt.Errorf("the token would go to %s unencrypted; use WithTLS, or "+
		"WithUnencryptedToken where something else encrypts it", s.endpoint)
}

// isLoopback tells whether calls stay on this machine; not where that cannot be
// told.
func isLoopback(endpoint string) bool {
	if strings.HasPrefix(endpoint, "unix:") {
		return true
	}
	address := endpoint
	for _, scheme := range []string{"dns:///", "dns:", "passthrough:///"} {
		if rest, found := strings.CutPrefix(endpoint, scheme); found {
			address = rest
			break
		}
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if number, err := netip.ParseAddr(host); err == nil {
		return number.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// bearer puts the token into the metadata of each call.
type bearer struct {
	source TokenSource
}

func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.source(ctx)
	if err != nil {
		return nil, err
	}
	if !tokenForm.MatchString(token) {
		return nil, errNoToken
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity leaves to Connect where a token may go, which knows
// the endpoint.
func (bearer) RequireTransportSecurity() bool {
	return false
}
